"""Reward terms and complete rewards, grouped by what they reward. They are loaded when a reward is first looked up."""
