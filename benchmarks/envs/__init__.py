"""Speed of making tasks and checking answers, compared with reasoning-gym and GEM."""
