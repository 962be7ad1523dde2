"""What has been measured on a device, kept beside the compiled code: <cache>/fmx/tune/<device>.json."""

import json
import os
import re
import time
from pathlib import Path

from .. import jit
from .rates import Rates


class Store:
    """The file of one device.  One that cannot be read counts as empty."""

    def __init__(self, device: str):
        name = re.sub(r"[^A-Za-z0-9]+", "-", device).strip("-").lower()
        self.device, self.path = device, Path(jit.CACHE).parent / "tune" / f"{name}.json"
        try:
            self._held = json.loads(self.path.read_text())
        except (OSError, ValueError):
            self._held = {}

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
        self.path.parent.mkdir(parents=True, exist_ok=True)
        aside = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        aside.write_text(json.dumps(self._held, indent=1) + "\n")
        aside.replace(self.path)
