"""For each alert series that must make it fire, and series that must not, near the threshold."""
from dataclasses import dataclass

FIRST, SECOND, THIRD = "a:9464", "b:9464", "c:9464"
JOB = {"job": "holdfast"}
HOUR, DAY_HOURS = 60, 24


@dataclass
class Case:
    """`series` are (metric, labels, values by the minute). With `since` the expression is true from
    that minute on, and the alert fires with the labels `fires`. Without it the alert never fires
    within `minutes`."""

    series: list
    since: int = None
    fires: tuple = ()
    minutes: int = 0


def at(instance=FIRST, **more):
    return {**JOB, "instance": instance, **more}


def hold(value, count):
    return [value] * count


def climb(step, count, start=0):
    return [round(start + step * minute, 6) for minute in range(count)]


def gauge(metric, low, high, *, wait=0, length=40, labels=None, silent=None):
    """An alert on a gauge: true while it is `high`, from minute 5 on; not true while `low`."""
    labels = labels or at()
    return [
        Case([(metric, labels, hold(low, 5) + hold(high, length))], 5, (labels,)),
        Case([(metric, labels, hold(low if silent is None else silent, length))], minutes=wait + 9),
    ]


def event(metric, wanted, other, minutes=30):
    """An alert on any increase of a counter with the labels `wanted`, not on one with `other`."""
    moving = hold(0, 5) + climb(1, 40, 1)
    cases = [
        Case([(metric, at(**wanted), moving)], 5, (at(),)),
        Case([(metric, at(**wanted), hold(7, 50))], minutes=minutes),
    ]
    if other:
        cases.append(Case([(metric, at(**other), moving)], minutes=minutes))
    return cases


def burn(metric, budget, windows, minutes):
    """Two pairs of windows with their burn rates; both windows of one pair must be over it."""
    (long, short, rate), (longer, shorter, slower) = windows
    names = [f"job:{metric}:ratio_rate{window}" for window in (long, short, longer, shorter)]
    limits = [rate * budget] * 2 + [slower * budget] * 2
    length = minutes + 20

    def case(factors, **more):
        values = [round(factor * limit, 9) for factor, limit in zip(factors, limits)]
        series = [(name, JOB, hold(value, length)) for name, value in zip(names, values)]
        return Case(series, **more)

    return [
        case((1.05, 1.05, 0, 0), since=0, fires=(JOB,)),
        case((0, 0, 1.05, 1.05), since=0, fires=(JOB,)),
        case((0.95, 0.95, 0.95, 0.95), minutes=length - 1),
        case((1.05, 0.95, 1.05, 0.95), minutes=length - 1),  # it is over
        case((0.95, 1.05, 0.95, 1.05), minutes=length - 1),  # it has only begun
    ]


def filling(hours, window, wait, emptied):
    """A disk that is full in so many hours, at one byte a minute; and one that empties so fast that
    it was full less than an hour ago. For as long as an hour that begins below zero."""
    metric, length = "holdfast_files_available_bytes", wait + 20
    over = hours * HOUR

    def line(start, step):
        return [(metric, at(), climb(step, length, start))]

    return [
        Case(line(over * 0.98 + 1, -1), 1, (at(),)),
        Case(line(over * 1.05 + length, -1), minutes=length - 1),
        Case(line(emptied, 1), minutes=length - 1),  # it empties
        Case(line(1000, 0), minutes=length - 1),
        Case([(metric, at(), climb(-1, window, window) + hold(0, length))], 1, (at(),)),
    ]


def overloaded(share):
    return [
        ("holdfast_rpc_refused_total", at(reason="OVERLOADED"), climb(share, 40)),
        ("holdfast_rpc_refused_total", at(reason="FENCED"), climb(9, 40)),
        ("holdfast_rpc_handled_total", at(method="CommitTurn", code="OK"), climb(60, 40)),
        ("holdfast_rpc_handled_total", at(SECOND, method="Echo", code="OK"), climb(40, 40)),
    ]


def abandoned(first, second):
    metric = "holdfast_swept_sessions_total"
    return [
        (metric, at(sweep="abandoned"), hold(0, 5) + hold(first, 30)),
        (metric, at(SECOND, sweep="abandoned"), hold(0, 5) + hold(second, 30)),
        (metric, at(sweep="cancelled"), hold(0, 5) + hold(50, 30)),
    ]


def counted(minutes_of_events, length):
    return [sum(event <= minute for event in minutes_of_events) for minute in range(length)]


def failed_sweeps(events):
    labels = at(sweep="abandoned", outcome="failed")
    return [("holdfast_sweeps_total", labels, counted(events, 60))]


def timeouts(in_use):
    connections = "holdfast_postgres_connections"
    return [
        ("holdfast_postgres_pool_timeouts_total", at(), hold(0, 5) + climb(1, 30, 1)),
        (connections, at(state="in_use"), hold(in_use, 40)),
        (connections, at(state="idle"), hold(1, 40)),
    ]


def registered(servers):
    limit = "holdfast_postgres_connections_limit"
    return [
        ("holdfast_postgres_serving_servers", at(FIRST), hold(servers, 30)),
        ("holdfast_postgres_serving_servers", at(SECOND), hold(servers - 1, 30)),
        *[(limit, at(instance), hold(8, 30)) for instance in (FIRST, SECOND, THIRD)],
    ]


def timelines(first, second):
    metric = "holdfast_postgres_timeline"
    return [(metric, at(), first), (metric, at(SECOND), second)]


def schema(taken, known):
    return [
        ("holdfast_postgres_schema_step", at(), taken),
        ("holdfast_postgres_schema_step_known", at(), known),
        ("holdfast_postgres_schema_step", at(SECOND), taken),
        ("holdfast_postgres_schema_step_known", at(SECOND), hold(5, len(taken))),
    ]


def starts(times, labels=None, known=True):
    labels = labels or at()
    values = [1000 + sum(time <= minute for time in times) for minute in range(40)]
    build_info = [("holdfast_build_info", {**labels, "version": "1"}, hold(1, 8) + ["stale"])]
    return [("process_start_time_seconds", labels, values), *(build_info if known else [])]


GONE = hold(1, 10) + ["stale"]
INFO, LINES = "holdfast_build_info", "holdfast_log_lines_left_out_total"
FAST = [("1h", "5m", 14.4), ("6h", "30m", 6)]
SLOW = [("1d", "2h", 3), ("3d", "6h", 1)]

CASES = {
    "HoldfastAvailabilityBurnsFast": burn("holdfast_calls_failed", 0.001, FAST, 2),
    "HoldfastAvailabilityBurnsSlowly": burn("holdfast_calls_failed", 0.001, SLOW, 15),
    "HoldfastLatencyBurnsFast": burn("holdfast_turn_calls_slow", 0.01, FAST, 2),
    "HoldfastLatencyBurnsSlowly": burn("holdfast_turn_calls_slow", 0.01, SLOW, 15),
    "HoldfastNoServer": [
        Case([(INFO, at(version="1"), GONE)], 10, (JOB,)),
        Case([(INFO, at(version="1"), GONE), (INFO, at(SECOND), hold(1, 40))], minutes=30),
    ],
    "HoldfastServerDown": [
        Case(
            [
                ("up", at(), hold(1, 10) + hold(0, 30)),
                ("up", at(SECOND), hold(1, 40)),
                (INFO, at(version="1"), GONE),
                (INFO, at(SECOND, version="1"), hold(1, 40)),
            ],
            10,
            (at(),),
        ),
        # None of the job answers, which is another alert; and a target of another job.
        Case([("up", at(), hold(0, 40)), (INFO, at(version="1"), hold("stale", 40))], minutes=30),
        Case(
            [("up", {"job": "other"}, hold(0, 40)), (INFO, at(version="1"), hold(1, 40))],
            minutes=30,
        ),
    ],
    "HoldfastRestarts": [
        Case(starts((4, 8, 12)), 12, (at(),)),
        Case(starts((4, 8)), minutes=20),
        Case(starts((4, 8, 20)), minutes=30),
        Case(starts((2, 4, 6, 8), {"job": "other", "instance": "d"}, known=False), minutes=20),
    ],
    "HoldfastExceptions": event("holdfast_exceptions_total", {}, None),
    "HoldfastInsecure": gauge("holdfast_insecure", 0, 1, wait=10),
    "HoldfastStoreAway": gauge("holdfast_store_healthy", 1, 0),
    "HoldfastStorageFull": event(
        "holdfast_rpc_refused_total", {"reason": "STORAGE_FULL"}, {"reason": "OVERLOADED"}
    ),
    "HoldfastDiskFullSoon": filling(4, 5, 10, 1),
    "HoldfastDiskFills": filling(3 * DAY_HOURS, 5, 60, -20),
    "HoldfastDiskNearlyFull": [
        Case([*row, ("holdfast_files_size_bytes", at(), hold(1000, 50))], *rest)
        for row, *rest in (
            ([("holdfast_files_available_bytes", at(), hold(105, 5) + hold(95, 40))], 5, (at(),)),
            ([("holdfast_files_available_bytes", at(), hold(105, 50))], None, (), 20),
        )
    ],
    "HoldfastSessionsDamaged": event(
        "holdfast_rpc_refused_total", {"reason": "MANIFEST_DRIFT"}, {"reason": "RESUME_MISMATCH"}
    )
    + event("holdfast_rpc_refused_total", {"reason": "DAMAGED"}, None),
    "HoldfastStoreWarnings": gauge("holdfast_store_warnings", 0, 1, wait=10),
    "HoldfastHoldersGone": [
        Case(abandoned(6, 5), 5, (JOB,)),
        Case(abandoned(5, 5), minutes=30),
    ],
    "HoldfastSweepsFail": [
        Case(failed_sweeps(range(3, 60, 3)), 9, (at(sweep="abandoned", outcome="failed"),)),
        # Two within every 15 minutes.
        Case(failed_sweeps([*range(7, 60, 15), *range(15, 60, 15)]), minutes=50),
    ],
    "HoldfastPoolExhausted": [
        Case(timeouts(1), 5, (at(),)),
        Case(timeouts(0), minutes=30),
        Case(
            [
                ("holdfast_postgres_pool_timeouts_total", at(), hold(7, 40)),
                ("holdfast_postgres_connections", at(state="in_use"), hold(1, 40)),
            ],
            minutes=30,
        ),
    ],
    "HoldfastPoolWaits": [
        Case([("holdfast_postgres_pool_wait_seconds_total", at(), climb(66, 40))], 5, (at(),)),
        Case([("holdfast_postgres_pool_wait_seconds_total", at(), climb(57, 40))], minutes=30),
    ],
    "HoldfastServerNotRegistered": [
        Case(registered(2), 0, (JOB,)),
        Case(registered(3), minutes=29),
        Case(registered(4), minutes=29),
    ],
    "HoldfastOldTimeline": [
        Case(timelines(hold(1, 40), hold(1, 5) + hold(2, 35)), 5, (at(),)),
        Case(timelines(hold(2, 40), hold(2, 40)), minutes=30),
    ],
    "HoldfastFailover": [
        Case(timelines(hold(1, 5) + hold(2, 40), hold(1, 40)), 5, (JOB,)),
        Case(timelines(hold(2, 40), hold(2, 40)), minutes=30),
    ],
    "HoldfastSchemaAhead": [
        Case(schema(hold(4, 5) + hold(5, 60), hold(4, 65)), 5, (at(),)),
        Case(schema(hold(5, 60), hold(5, 60)), minutes=50),
        # The first server is replaced within the time.
        Case(schema(hold(5, 60), hold(4, 29) + hold(5, 31)), minutes=50),
    ],
    "HoldfastQueueStalled": gauge("holdfast_queue_oldest_age_seconds", 14, 16),
    "HoldfastOverloaded": [
        Case(overloaded(1.05), 1, (JOB,)),
        Case(overloaded(0.95), minutes=30),
    ],
    "HoldfastLimitNear": gauge(
        "instance:holdfast_limit_used:ratio", 0.89, 0.91, wait=10, labels=at(limit="open_files")
    ),
    "HoldfastWatchLag": gauge("holdfast_watch_lag_seconds", 9.5, 10.5, wait=5),
    "HoldfastSpansLost": event(
        "holdfast_spans_total", {"outcome": "queue_full"}, {"outcome": "exported"}
    )
    + event("holdfast_spans_total", {"outcome": "given_up"}, {"outcome": "stopped"}),
    "HoldfastSpanExportsFail": [
        Case(
            [("holdfast_span_exports_failed_total", at(), counted(range(3, 60, 3), 60))],
            3,
            (at(),),
        ),
        Case([("holdfast_span_exports_failed_total", at(), hold(7, 40))], minutes=30),
    ],
    "HoldfastLogLinesLost": [
        Case(case.series, case.since, tuple(at(cause="queue") for _ in case.fires), case.minutes)
        for case in event(LINES, {"cause": "queue"}, {"cause": "rate"})
    ],
    "HoldfastLogLinesLeftOut": [
        Case([(LINES, at(cause="rate"), climb(630, 40))], 5, (at(cause="rate"),)),
        Case([(LINES, at(cause="rate"), climb(570, 40))], minutes=30),
        Case([(LINES, at(cause="queue"), climb(900, 40))], minutes=30),
    ],
}
