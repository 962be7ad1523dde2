"""What has been measured on a device, kept beside the compiled code: <cache>/fmx/tune/<device>.json."""

import hashlib
import json
import re
import time

from ..compiler import private
from .rates import Rates


class Store:
    """The file of one device.  One that cannot be read, or was changed, counts as empty."""

    def __init__(self, device: str):
        name = re.sub(r"[^A-Za-z0-9]+", "-", device).strip("-").lower()
        base = private.base()
        self.device, self.path = device, base / "tune" / f"{name}.json" if base else None
        self._held: dict = {}
        try:
            held = json.loads(self.path.read_text()) if self.path else {}
            if held.pop("checksum", "") == _checksum(held):
                self._held = held
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):  # no such file, or no dict
            pass

    def rates(self, measure) -> Rates:
        """The rates of the device: those kept, else what ``measure()`` gives, kept from now on."""
        if "rates" not in self._held:
            found = measure()
            rows = [[entry, n, rate] for entry, row in found.table.items() for n, rate in row.items()]
            self._keep("rates", rows)
        table: dict = {}
        for entry, n, rate in self._held["rates"]:
            table.setdefault(entry, {})[n] = rate
        return Rates(self.device, table)

    def result(self, question: str) -> dict | None:
        """What was found for a question, if it was asked before."""
        return self._held.get("results", {}).get(question)

    def keep_result(self, question: str, result: dict) -> dict:
        """Keep a result, with the date."""
        result = {**result, "date": time.strftime("%Y-%m-%d")}
        self._keep("results", {**self._held.get("results", {}), question: result})
        return result

    def _keep(self, key, value) -> None:
        self._held[key] = value
        if self.path:
            data = json.dumps({**self._held, "checksum": _checksum(self._held)}, indent=1) + "\n"
            private.write(self.path.parent, self.path.name, data.encode(), alone=False)


def _checksum(held) -> str:
    return hashlib.sha256(json.dumps(held).encode()).hexdigest()[:16]
