#!/usr/bin/env python3
"""Krafla as it is installed: a C program by pkg-config and a C++ project by find_package, each with the
shared and the static library, from a tree that was moved after the installation.

Usage: test_installed.py MESON BUILD SOURCE VERSION
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile


def run(*command, **more):
    """The output of a command, which must succeed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def check(program, version, environment):
    lines = run(program, env=environment).splitlines()
    assert lines[0] == version, f"{program}: version: got {lines[0]}, want {version}"
    assert "no such model" in lines[1], f"{program}: message: got {lines[1]}"


def main(meson, build, source, version):
    with tempfile.TemporaryDirectory() as folder:
        run(meson, "install", "-C", build, "--no-rebuild", "--destdir", f"{folder}/staged")
        package = glob.glob(f"{folder}/staged/**/krafla.pc", recursive=True)[0]
        config = glob.glob(f"{folder}/staged/**/krafla-config.cmake", recursive=True)[0]
        library_folder = os.path.dirname(os.path.dirname(package))
        inside = os.path.relpath(library_folder, f"{folder}/staged")
        moved = f"{folder}/moved here"
        shutil.move(f"{folder}/staged", moved)
        library_folder = os.path.join(moved, inside)
        environment = {**os.environ, "LD_LIBRARY_PATH": library_folder,
                       "PKG_CONFIG_PATH": f"{library_folder}/pkgconfig"}

        for name in ("krafla", "krafla-static"):
            flags = run("pkg-config", "--cflags", "--libs", name, env=environment)
            program = f"{folder}/{name}"
            # The shell, since the flags quote the space of the folder's name.
            run("sh", "-c", f"cc -std=c99 '{source}/tests/embed/subproject/main.c' {flags.strip()} "
                            f"-o '{program}'")
            check(program, version, environment)

        config_folder = os.path.join(moved, os.path.relpath(os.path.dirname(config),
                                                            f"{folder}/staged"))
        run("cmake", "-S", f"{source}/tests/embed/cmake", "-B", f"{folder}/cmake",
            f"-Dkrafla_DIR={config_folder}", env=environment)
        run("cmake", "--build", f"{folder}/cmake")
        for name in ("krafla", "krafla_static"):
            check(f"{folder}/cmake/embedder_{name}", version, environment)


if __name__ == "__main__":
    main(*sys.argv[1:])
