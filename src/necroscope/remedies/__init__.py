"""Remedies: plan, apply, undo, and prove that it helped. Only `remedies/actions` changes a machine."""
