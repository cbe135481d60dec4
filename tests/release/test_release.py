#!/usr/bin/env python3
"""A release as a stranger gets it: unpacked into a folder with a space, on processors that lack this and that.

Usage: test_release.py PLATFORM ARCHIVE MODEL EXPECTED-TEXT [CHROOT]

Checks the checksums; that every program without its instruction set exits with 3 and names what is missing;
that the launcher falls to the next build; that a library on the wrong processor returns a code; that a prompt is
answered without anything of this system; that C programs link by pkg-config. CHROOT: a Debian with gcc and
pkg-config alone, where the last two are done (x86-64).
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMPT = ["--chat", "none", "-p", "The capital of France is", "-n", "16", "-t", "2"]
# Emulator, compiler, where its programs find libraries; processors: model -> what a build lacks there (None: it
# runs). Of AVX-512 and AVX-VNNI qemu emulates nothing.
X86 = {
    "core2duo": {"sse2": None, "sse41": "sse4.1", "avx2": "avx", "avxvnni": "avx", "avx512vnni": "avx"},
    "Penryn": {"sse2": None, "sse41": None, "avx2": "avx", "avxvnni": "avx", "avx512vnni": "avx"},
    "Nehalem": {"sse2": None, "sse41": None, "avx2": "avx", "avxvnni": "avx", "avx512vnni": "avx"},
    "IvyBridge": {"sse2": None, "sse41": None, "avx2": "avx2", "avxvnni": "avx2", "avx512vnni": "avx2"},
    "Haswell,-f16c": {"sse2": None, "sse41": None, "avx2": "f16c", "avxvnni": "f16c", "avx512vnni": "f16c"},
    "Haswell,-xsave": {"sse2": None, "sse41": None, "avx2": "avx", "avxvnni": "avx", "avx512vnni": "avx"},
    "Haswell": {"sse2": None, "sse41": None, "avx2": None, "avxvnni": "avx_vnni", "avx512vnni": "avx512f"},
    "Skylake-Server": {"sse2": None, "sse41": None, "avx2": None, "avxvnni": "avx_vnni", "avx512vnni": "avx512f"},
}
OLD_ARM = {"neon": None, "neon_dotprod": "asimddp", "neon_i8mm": "asimddp", "sve": "asimddp"}
DOTPROD = {"neon": None, "neon_dotprod": None, "neon_i8mm": "i8mm", "sve": "i8mm"}
AARCH64 = {
    "cortex-a53": OLD_ARM, "cortex-a72": OLD_ARM, "cortex-a76": DOTPROD, "neoverse-n1": DOTPROD,
    "max,sve=off": {"neon": None, "neon_dotprod": None, "neon_i8mm": None, "sve": "sve"},
    "max": {"neon": None, "neon_dotprod": None, "neon_i8mm": None, "sve": None},
}
ARMV7 = {"cortex-a15": {"neon": None}, "cortex-a15,neon=off": {"neon": "neon"}}
PLATFORMS = {
    "linux-x86_64": ("qemu-x86_64", "gcc", "/", X86),
    "linux-aarch64": ("qemu-aarch64", "aarch64-linux-gnu-gcc", "/usr/aarch64-linux-gnu", AARCH64),
    "linux-armv7": ("qemu-arm", "arm-linux-gnueabihf-gcc", "/usr/arm-linux-gnueabihf", ARMV7),
}
ORDER = list(dict.fromkeys(line.split("|")[0].strip() for line in reversed(
    (ROOT / "kernels/isas.table").read_text(encoding="utf-8").splitlines()) if not line.startswith("#")))
EMPTY = {"PATH": "/usr/bin:/bin"}


def run(*command, code=0, **more):
    """stdout and stderr of a command, which must end with this code."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **more)
    if done.returncode != code:
        sys.exit(f"{command}: exit code {done.returncode}, want {code}\n{done.stdout}{done.stderr}")
    return done.stdout, done.stderr


def equal(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


class Release:
    def __init__(self, platform, archive, folder):
        self.emulator, self.compiler, self.libraries, self.processors = PLATFORMS[platform]
        run("tar", "-xf", archive, "-C", folder)
        self.folder = next(pathlib.Path(folder).iterdir())
        self.isas = [i for i in ORDER if (self.folder / f"lib/libkrafla-{i}.so").exists()]
        self.programs = sorted(p.name for p in (self.folder / "bin").iterdir())
        self.native = platform == "linux-x86_64"

    def build(self, program, isa):
        return self.folder / "libexec/krafla" / f"{program}-{isa}"

    def under(self, cpu, *command, **more):
        return run(self.emulator, "-L", self.libraries, "-cpu", cpu, *command, **more)

    def best(self, cpu):
        """The build that must be chosen."""
        return next((i for i in self.isas if self.processors[cpu].get(i) is None), None)

    def check_files(self):
        run("sha256sum", "--check", "--quiet", "SHA256SUMS", cwd=self.folder)
        for program in self.programs:
            for isa in self.isas:
                out, _ = run("file", self.build(program, isa))
                assert "statically linked" in out or "static-pie" in out, out
        for isa in self.isas:
            out, _ = run("readelf", "-d", self.folder / f"lib/libkrafla-{isa}.so")
            needed = set(re.findall(r"\(NEEDED\).*\[(\w+)[-.]", out))
            assert needed <= {"libc", "libm", "ld"}, f"{isa} needs {needed}"
        print(f"checksums, {len(self.programs)} programs x {len(self.isas)} sets static, libraries need libc alone")

    def check_processors(self):
        for cpu, lacks in self.processors.items():
            for isa in self.isas:
                for program in self.programs if cpu == next(iter(self.processors)) else self.programs[-1:]:
                    out, err = self.under(cpu, self.build(program, isa), "--version",
                                          code=0 if lacks[isa] is None else 3)
                    if lacks[isa] is None:
                        assert f"({isa}, " in out, out
                    else:
                        wanted = f"{program}: cpu: the {isa} build needs {lacks[isa]}, which this"
                        assert wanted in err, f"{cpu}: got {err!r}, want {wanted!r}"
            self.check_launcher(cpu, lacks)
        print(f"{len(self.processors)} processors: exit code 3 and the feature's name, the launcher's choice")

    def check_launcher(self, cpu, lacks):
        launcher = self.folder / "bin/ml_run"
        best = self.best(cpu)
        out, _ = self.under(cpu, launcher, "--isa-info", env=EMPTY)
        for isa in self.isas:
            line = re.search(rf"^  {isa} +(.*)$", out, re.M)[1]
            want = "chosen: " if isa == best else "runs: " if lacks[isa] is None else f"needs {lacks[isa]}"
            assert line.startswith(want), f"{cpu}: {isa}: got {line!r}, want {want!r}"
        for isa in [i for i in self.isas if lacks[i] is not None]:
            _, err = self.under(cpu, launcher, "-h", env={**EMPTY, "KRAFLA_ISA": isa}, code=3)
            assert f"KRAFLA_ISA: the {isa} build needs {lacks[isa]}" in err, err
        _, err = self.under(cpu, launcher, "-h", env={**EMPTY, "KRAFLA_ISA": "z80"}, code=2)
        assert 'KRAFLA_ISA: got "z80", want one of: ' + " ".join(self.isas) in err, err
        if best is None:
            _, err = self.under(cpu, launcher, "-h", env=EMPTY, code=3)
            assert "no build runs here" in err, err
        elif self.native:  # the system starts what the launcher becomes
            out, _ = self.under(cpu, launcher, "--version", env=EMPTY)
            assert f"({best}, " in out, f"{cpu}: got {out!r}, want {best}"

    def check_placement(self, folder):
        """By a link, by PATH, from another folder, by a name of its own; beside its builds."""
        if not self.native:
            return
        link = pathlib.Path(folder) / "a link"
        link.symlink_to(self.folder / "bin/ml_run")
        flat = pathlib.Path(folder) / "flat"
        flat.mkdir()
        shutil.copy(self.folder / "bin/ml_run", flat)
        shutil.copy(self.build("ml_run", self.isas[-1]), flat)
        for command, isa, more in [
                ([link], None, {}), (["./ml_run"], None, {"cwd": self.folder / "bin"}),
                (["ml_run"], None, {"env": {"PATH": str(self.folder / "bin")}}),
                ([flat / "ml_run"], self.isas[-1], {})]:
            out, _ = run(*command, "--version", **more)
            assert isa is None or f"({isa}, " in out, out
        # A build that cannot be started gives way to the next.
        broken = self.build("ml_run", next(i for i in self.isas if f"({i}, " in run(link, "--version")[0]))
        good = broken.read_bytes()
        broken.write_bytes(b"\x7fELF no program")
        out, err = run(link, "--version")
        assert "cannot be started" in err and "arithmetic" in out, (out, err)
        broken.write_bytes(good)
        print("the launcher by a link, by PATH, beside its builds, over a damaged build")

    def check_libraries(self, folder, model):
        program = pathlib.Path(folder) / "open_each"
        run(self.compiler, "-std=c99", "-D_DEFAULT_SOURCE", f"-I{self.folder}/include",
            ROOT / "tests/release/open_each.c", "-o", program, "-ldl")
        for cpu, lacks in self.processors.items():
            best = self.best(cpu)
            out, _ = self.under(cpu, program, self.folder / "lib", model, code=0 if best else 1)
            told = dict(line.split(" ", 1) for line in out.splitlines())
            for isa in self.isas:
                code, message = told[isa].split(" ", 1)
                equal(f"{cpu}: {isa}: code", int(code), 0 if lacks[isa] is None else -7)
                assert lacks[isa] is None or f"needs {lacks[isa]}," in message, message
            assert told["chosen:"].startswith(best or "none"), told["chosen:"]
        print("libraries on the wrong processor: a code and a message; the loader's choice")

    def check_answer(self, model, expected):
        """Every build, in an empty environment."""
        for isa in self.isas:
            cpu = next((c for c, lacks in reversed(self.processors.items()) if lacks[isa] is None), None)
            if cpu is None:
                continue
            out, _ = self.under(cpu, self.build("ml_run", isa), *PROMPT, model, env={}, cwd="/")
            equal(f"{isa}: reply", out, expected)
        if self.native:
            equal("reply", run(self.folder / "bin/ml_run", *PROMPT, model, env={}, cwd="/")[0], expected)
        print("every build that can run here answers with the same text")

    def check_link(self, folder, model, expected):
        environment = {**EMPTY, "PKG_CONFIG_PATH": f"{self.folder}/lib/pkgconfig", "LD_LIBRARY_PATH": f"{self.folder}/lib"}
        for package in ("krafla", "krafla-static"):
            flags = run("pkg-config", "--cflags", "--libs", package, env=environment)[0].strip()
            program = f"{folder}/{package}"
            run("sh", "-c", f"{self.compiler} -std=c99 '{ROOT}/examples/hello.c' {flags} -o '{program}'")
            command = [program, model]
            if not self.native:
                command = [self.emulator, "-L", self.libraries, "-cpu", list(self.processors)[0],
                           "-E", f"LD_LIBRARY_PATH={self.folder}/lib", *command]
            equal(f"{package}: reply", run(*command, env=environment)[0].strip(), expected.strip())
        print("a C program by pkg-config, with the shared and the static library")


def check_chroot(release, chroot, model, expected):
    """A system of gcc and pkg-config alone, without /proc: the archive answers and links there."""
    place = pathlib.Path(chroot) / "opt/a folder"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(release.folder, place, symlinks=True)
    shutil.copy(model, place / "model.mlb")
    shutil.copy(ROOT / "examples/hello.c", place)
    script = ("cd '/opt/a folder' && bin/ml_run " + " ".join(f"'{a}'" for a in PROMPT) + " model.mlb && echo && "
              "export PKG_CONFIG_PATH=$PWD/lib/pkgconfig LD_LIBRARY_PATH=$PWD/lib && "
              "eval gcc hello.c $(pkg-config --cflags --libs krafla) -o /tmp/hello && /tmp/hello model.mlb")
    out, _ = run(*([] if os.geteuid() == 0 else ["sudo"]), "chroot", chroot, "/usr/bin/env", "-i",
                 "PATH=/usr/bin:/bin", "sh", "-c", script)
    equal("replies in the chroot", out.split(), 2 * expected.split())
    shutil.rmtree(place)
    print("an empty system (debootstrap): answers, links and answers again")


def main(platform, archive, model, expected, chroot=None):
    model = pathlib.Path(model).resolve()
    with tempfile.TemporaryDirectory(prefix="a release ") as folder:
        unpacked = pathlib.Path(folder) / "unpacked here"
        unpacked.mkdir()
        release = Release(platform, archive, unpacked)
        release.check_files()
        release.check_processors()
        release.check_placement(folder)
        release.check_libraries(folder, model)
        release.check_answer(model, expected)
        release.check_link(folder, model, expected)
        if chroot:
            check_chroot(release, chroot, model, expected)


if __name__ == "__main__":
    main(*sys.argv[1:])
