"""Speed of making tasks and checking answers, against reasoning-gym and GEM."""
