"""What one piece of an input tells the next one, which another thread may be at."""

import threading
from typing import Any


class Link:
    """Is told once, and waited for."""

    def __init__(self, told=None):
        self._is_told, self._told = threading.Event(), told
        if told is not None:
            self._is_told.set()

    def is_told(self) -> bool:
        return self._is_told.is_set()

    def tell(self, told):
        """Let the next one know, or None: what it finds is not wanted."""
        self._told = told
        self._is_told.set()

    def wait(self) -> Any:
        self._is_told.wait()
        return self._told
