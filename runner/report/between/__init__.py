"""Reports on several sessions, or on two sides of one."""
