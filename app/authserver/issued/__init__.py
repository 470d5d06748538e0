"""What apps are given: the grant, and the codes and tokens that stand for it."""
