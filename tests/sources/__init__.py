"""Tests of where data comes from: windows, days, the engine, and Oura's wire."""
