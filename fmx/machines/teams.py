"""GPUs that hold an index together, where one has no room for all of its parts."""


def teams(sessions, sizes, beside, tell) -> list:
    """As many teams of GPUs as can hold all parts each: for each team the GpuSession of each part.

    ``sizes`` of the parts in bytes; ``beside`` them a GPU needs so many for buffers.  ``tell`` is given lines
    on parts that are spread, and on GPUs that get none.  Where not even all GPUs have room, they are one
    team, some of whose members have less memory than their parts need.
    """
    for n in range(len(sessions), 0, -1):
        found = [_places(sessions[i::n], sizes, beside) for i in range(n)]
        if all(fits for _, fits in found):
            break
    members = [set(places) for places, _ in found]
    if any(len(team) > 1 for team in members):
        tell(f"the index is spread over GPUs, as no GPU has room for all {len(sizes)} parts")
    for session in sessions:
        if not any(session in team for team in members):
            tell(f"GPU {session.number} is idle: there is no part of the index for it, or no room")
    return [places for places, _ in found]


def _places(team, sizes, beside):
    """(the GpuSession of each part, whether all fit): the largest first, to whoever has most room left."""
    left = {session: session.memory - beside for session in team}
    places = [team[0]] * len(sizes)
    for part in sorted(range(len(sizes)), key=lambda part: -sizes[part]):
        places[part] = max(team, key=lambda session: left[session])
        left[places[part]] -= sizes[part]
    return places, all(left[session] >= 0 for session in places)


def for_each(found, n_threads) -> list:
    """(team, how many of n_threads threads it has, one at least) of each of the teams."""
    return [(team, max((n_threads + i) // len(found), 1)) for i, team in enumerate(found)]
