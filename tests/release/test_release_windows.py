#!/usr/bin/env python3
"""The Windows archive as a stranger gets it, under wine: unpacked into a folder with a space.

Usage: test_release_windows.py ARCHIVE MODEL EXPECTED-TEXT RUNNABLE-SET...

Checks the checksums; that the sets which this processor runs answer a prompt, the others exit with 3 and name what is
missing; the launcher's choice and its override; that a C program links by pkg-config, with the import library and
with the static one.
"""
import pathlib
import re
import sys
import tempfile
import zipfile

from test_release import EMPTY, ORDER, PROMPT, ROOT, equal, run

WINE = ROOT / "scripts/wine"
COMPILER = "x86_64-w64-mingw32-gcc"


class Release:
    def __init__(self, archive, folder, runnable):
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(folder)
        self.folder = next(pathlib.Path(folder).iterdir())
        self.isas = [i for i in ORDER if (self.folder / f"bin/krafla-{i}.dll").exists()]
        self.runs = [i for i in self.isas if i in runnable]

    def build(self, program, isa):
        return next(self.folder.rglob(f"{program}-{isa}.exe"))

    def check_files(self):
        run("sha256sum", "--check", "--quiet", "SHA256SUMS", cwd=self.folder)
        assert self.runs, f"of {self.isas} this processor runs none"
        print(f"checksums; {', '.join(self.isas)}, of which {', '.join(self.runs)} run here")

    def check_builds(self, model, expected):
        for isa in self.isas:
            if isa in self.runs:
                equal(isa, run(WINE, self.build("ml_run", isa), *PROMPT, model)[0], expected)
                continue
            _, err = run(WINE, self.build("ml_run", isa), "--version", code=3)
            assert f"cpu: the {isa} build needs " in err, err
        print("every build answers with the same text, or names what the processor lacks")

    def check_launcher(self, model, expected):
        launcher = self.folder / "bin/ml_run.exe"
        equal("reply", run(WINE, launcher, *PROMPT, model)[0], expected)
        out, _ = run(WINE, launcher, "--isa-info")
        best = self.runs[0]
        for isa in self.isas:
            line = re.search(rf"^  {isa} +(.*?)\r?$", out, re.M)[1]
            want = "chosen: " if isa == best else "runs: " if isa in self.runs else "needs "
            assert line.startswith(want), f"{isa}: got {line!r}, want {want!r}"
        for isa in self.isas:
            more = {"env": {**EMPTY, "HOME": "/root", "KRAFLA_ISA": isa}}
            if isa in self.runs:
                assert f"({isa}, " in run(WINE, launcher, "--version", **more)[0]
            else:
                run(WINE, launcher, "--version", code=3, **more)
        print("the launcher's choice and its override")

    def check_link(self, folder, model, expected):
        environment = {**EMPTY, "PKG_CONFIG_PATH": f"{self.folder}/lib/pkgconfig"}
        for package in ("krafla", "krafla-static"):
            flags = run("pkg-config", "--define-prefix", "--cflags", "--libs", package, env=environment)[0].strip()
            program = self.folder / f"bin/hello-{package}.exe"  # beside the DLL, as programs of Windows are
            run("sh", "-c", f"{COMPILER} -std=c99 '{ROOT}/examples/hello.c' {flags} -o '{program}'")
            equal(f"{package}: reply", run(WINE, program, model)[0].strip(), expected.strip())
        print("a C program by pkg-config, with the import library and the static one")


def main(archive, model, expected, *runnable):
    model = pathlib.Path(model).resolve()
    with tempfile.TemporaryDirectory(prefix="a release ") as folder:
        release = Release(archive, pathlib.Path(folder), runnable)
        release.check_files()
        release.check_builds(model, expected)
        release.check_launcher(model, expected)
        release.check_link(folder, model, expected)


if __name__ == "__main__":
    main(*sys.argv[1:])
