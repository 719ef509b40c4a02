"""The checks of the alerts. A check is a function to what is wrong."""
import firing
import names
import promtool
import recordings
import runbooks
from programs import run


def valid():
    """promtool has nothing to say against the rules."""
    process = run(["promtool", "check", "rules", promtool.RULES, promtool.ALERTS])
    if process.returncode != 0:
        yield process.stdout


CHECKS = {
    "Rules.AreValid": valid,
    "Rules.RecordTheIndicators": recordings.every_rule_records,
    "Rules.NameMetricsThatExist": names.every_name_exists,
    "Alerts.FireAndStaySilent": firing.every_alert_fires,
    "Alerts.MutantsAreCaught": firing.every_mutant_fails,
    "Runbooks.HaveASectionForEachAlert": runbooks.every_alert_has_a_section,
}
