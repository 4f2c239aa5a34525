"""What is measured, in which order, and until when: jobs, sessions and what builds on them."""
