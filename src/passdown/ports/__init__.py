"""What services need from the outside, as protocols that state their promises and errors."""
