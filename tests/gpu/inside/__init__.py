"""What runs in the environment under proof: small programs that say JSON lines on standard output."""
