"""A reward program for tests: it likes answers that begin with y."""


def reward(episode):
    liked = sum(turn["action"].startswith("y") for turn in episode["turns"])
    return int(episode["success"]), {"liked": liked, "others": -0.5 * (len(episode["turns"]) - liked)}
