"""A factor program for tests: what an action does to the cell ahead in MiniGrid's view."""


def factors(step):
    image = step["observation"]["image"]
    ahead, carried = image[3][5], image[3][6][0]
    action = step["action"]
    return {
        "key": float(action == 3 and ahead[0] == 5 and carried != 5),
        "door": float(action == 5 and ahead[0] == 4 and ahead[2] == 2 and carried == 5),
        "goal": float(action == 2 and ahead[0] == 8),
        "step": 1.0,
    }
