"""The time of each update of a training, from the `wall` that fairseq-train logs beside updates.

fairseq counts `wall` from the start of the process: after a resume it begins at 0 again, and `--log-file` does not say
at which update. Checkpoints are written where a validation or an epoch ends, so the resume is taken to be at the last
such update before the first one that is logged after it; what was trained beyond it and lost does not count.
After a resume within an epoch fairseq's `wall` stands at 0, for its stopwatch is loaded and not started; then the pace
of the updates in each line is what tells the time.
"""

import bisect
import math


class WallClock:
    """The seconds of training up to an update, validations and earlier processes included."""

    def __init__(self) -> None:
        self.seconds = math.nan  # up to the last line with a wall
        self._updates, self._times = [0], [0.0]  # both ascending
        self._stops: set[int] = set()
        self._wall = self._before = 0.0  # of this process, and of those before it
        self._paced, self._paced_to = 0.0, 0  # seconds of this process by the pace of its lines, and up to which update
        self._begins = False

    def begin_process(self) -> None:
        """Note that a process begins."""
        self._begins = True

    def begin_anew(self) -> None:
        """Forget the processes before this one, which began at 0 updates."""
        if self._begins:  # else a line of this one has told where it began
            self.seconds = math.nan
            self._updates, self._times = [0], [0.0]
            self._stops.clear()

    def end_part(self, updates: int) -> None:
        """Note that a validation or an epoch ends after so many updates, where a checkpoint may have been written."""
        self._stops.add(updates)

    def read(self, wall: float, updates: int | None, *, pace: float = math.nan) -> None:
        """Note a line.

        Args:
            wall: of the process.
            updates: of the training; None where the line does not say it.
            pace: seconds of each update since the line before; not a number where the line does not say it.
        """
        if updates is not None and (self._begins or wall < self._wall):
            resumed_at = max((stop for stop in self._stops if stop < updates), default=0)
            kept = bisect.bisect_right(self._updates, resumed_at)
            self._before = self._at(resumed_at) if resumed_at <= self._updates[-1] else self._times[-1]
            self._updates, self._times = self._updates[:kept], self._times[:kept]
            self._stops = {stop for stop in self._stops if stop <= resumed_at}
            self._begins = False
            self._paced, self._paced_to = 0.0, resumed_at
        if updates is not None and not math.isnan(pace):
            self._paced += pace * (updates - self._paced_to)
            self._paced_to = updates
        self._wall, self.seconds = wall, self._before + (wall or self._paced)
        # of an update that is logged again, after its validation, the first time counts
        if updates is not None and updates > self._updates[-1]:
            self._updates.append(updates)
            self._times.append(self.seconds)

    def seconds_at(self, updates: int) -> float:
        """Return the seconds up to an update, interpolated; not a number where the log has no time after it."""
        return self._at(updates) if updates <= self._updates[-1] else math.nan

    def _at(self, updates: int) -> float:
        after = bisect.bisect_left(self._updates, updates)
        if self._updates[after] == updates:
            return self._times[after]
        share = (updates - self._updates[after - 1]) / (self._updates[after] - self._updates[after - 1])
        return self._times[after - 1] + share * (self._times[after] - self._times[after - 1])
