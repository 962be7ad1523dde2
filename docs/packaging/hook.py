"""Hatchling's hook: what a wheel has besides the package, manual pages and machine code.

The code is that of the usual commands, for the processor that builds the wheel; where it cannot be compiled,
the wheel has none.  FMX_NO_COMPILE=1: none, for any machine.  FMX_COMPILE_FOR=x86-64-v3 or aarch64: all code,
for all such processors.  An editable installation has none, because its functions may change.
"""

import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).parent
# Platforms of wheels for all processors of a level: the code calls libc for copying and comparing alone.
PLATFORMS = {
    "x86-64-v3": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "aarch64": "manylinux_2_17_aarch64.manylinux2014_aarch64",
}


class Hook(BuildHookInterface):
    """Puts the pages into share/man/man1, and the code into fmx/code."""

    PLUGIN_NAME = "custom"

    def initialize(self, version, build_data):
        """Called before a wheel is built."""
        sys.path[:0] = [self.root, str(HERE)]
        import man_pages

        from fmx.cli.main import fmx

        self.scratch = tempfile.TemporaryDirectory()
        scratch = Path(self.scratch.name)
        for name, page in man_pages.pages(fmx, self.metadata.version):
            (scratch / name).write_text(page)
            build_data["shared_data"][str(scratch / name)] = f"share/man/man1/{name}"
        if version == "editable" or os.environ.get("FMX_NO_COMPILE", "0") not in ("", "0"):
            return
        level = os.environ.get("FMX_COMPILE_FOR", "")
        self.app.display_waiting("Compiling machine code for fmx; FMX_NO_COMPILE=1 leaves it out ...")
        try:
            code = self.compile(scratch)
        except (OSError, subprocess.CalledProcessError) as error:
            why = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[-1]
            if level:
                sys.exit(f"FMX_COMPILE_FOR={level}: {why}")
            self.app.display_warning(f"No machine code, which fmx will compile at its first runs: {why}")
            return
        build_data["pure_python"], build_data["infer_tag"] = False, not level
        if level:
            build_data["tag"] = f"cp{sys.version_info[0]}{sys.version_info[1]}-none-{PLATFORMS[level]}"
        for path in code.glob("fmx.*.o"):
            build_data["force_include"][str(path)] = f"fmx/code/{code.name}/{path.name}"

    def compile(self, scratch):
        """Compile in processes of their own; the folder of the code."""
        packages = scratch / "packages"
        if not (find_spec("numba") and find_spec("isal")):
            how = ["--quiet", "--disable-pip-version-check", "--only-binary=:all:", "--target", str(packages)]
            output([sys.executable, "-m", "pip", "install", *how, *self.metadata.core.dependencies])
        path = [self.root, str(packages), *sys.path]
        known = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
        environment = known | {"PYTHONPATH": os.pathsep.join(path), "FMX_CACHE": str(scratch)}
        return Path(output([sys.executable, str(HERE / "machine_code.py")], environment).strip())

    def finalize(self, version, build_data, artifact_path):
        """Called after the wheel was built."""
        self.scratch.cleanup()


def output(command, environment=None) -> str:
    """What a command prints.  Raises CalledProcessError."""
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
