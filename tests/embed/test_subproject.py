#!/usr/bin/env python3
"""Krafla as a subproject: builds tests/embed/subproject around this repository and runs its program.

Usage: test_subproject.py MESON REPOSITORY VERSION. The build takes place in a temporary folder, without
optimisation, and nothing is downloaded. Without debug symbols a compiler cache knows its objects in
whatever folder they were compiled.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# What an embedder's `meson install` may bring along, below the prefix.
INSTALLED = re.compile(r"include/krafla/\w+\.hp?p?|lib/.*libkrafla(-tools)?\.(a|so[.\d]*)"
                       r"|lib/.*pkgconfig/krafla(-static)?\.pc|lib/cmake/krafla/krafla-config(-version)?\.cmake")


def run(*command):
    """The output of a command, which must succeed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def targets(build):
    """The targets of a build folder by name."""
    with open(os.path.join(build, "meson-info", "intro-targets.json"), encoding="utf-8") as file:
        return {target["name"]: target for target in json.load(file)}


def installed(build):
    """The paths below the prefix that the build would install."""
    with open(os.path.join(build, "meson-info", "intro-installed.json"), encoding="utf-8") as file:
        return [os.path.relpath(path, "/prefix") for path in json.load(file).values()]


def main(meson, repository, version):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "embedder")
        shutil.copytree(os.path.join(repository, "tests/embed/subproject"), source)
        os.mkdir(os.path.join(source, "subprojects"))
        os.symlink(repository, os.path.join(source, "subprojects", "krafla"))
        build = os.path.join(source, "build")
        run(meson, "setup", build, source, "--force-fallback-for=krafla", "--wrap-mode=nodownload",
            "-Doptimization=0", "-Ddebug=false", "--prefix=/prefix", "--libdir=lib")

        programs = {name for name, target in targets(build).items() if target["type"] == "executable"}
        assert programs == {"embedder"}, f"programs built for an embedder: {programs}"
        strays = [path for path in installed(build) if not INSTALLED.fullmatch(path)]
        assert not strays, f"installed for an embedder: {strays}"
        assert "include/krafla/krafla.h" in installed(build), installed(build)

        run(meson, "compile", "-C", build, "embedder")
        lines = run(os.path.join(build, "embedder")).splitlines()
        assert lines[0] == version, f"krafla_version(): got {lines[0]}, want {version}"
        assert "no such model" in lines[1], f"message of a missing file: {lines[1]}"


if __name__ == "__main__":
    main(*sys.argv[1:])
