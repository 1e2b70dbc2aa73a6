"""The protocols through which services reach the outside, with their promises and errors."""
