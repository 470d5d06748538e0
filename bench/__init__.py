"""How quick and how light the connector is, as ratios measured within one run: `python -m bench`. See README.md."""
