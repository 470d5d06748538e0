"""`health_query`: records of a range of days, asked for, fetched, cut to size and answered."""
