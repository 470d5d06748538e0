"""Oura's API v2: what it offers, how its answers are read, how it is asked, how one signs in there."""
