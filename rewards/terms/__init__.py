"""Reward terms and complete rewards, one method a file. They are loaded when a reward is first looked up."""
