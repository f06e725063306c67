"""Installs the library of a build into a new prefix, moves the prefix, and builds and runs the programs
under outside/ with what is there: main.cc, also as a shared library that host.cc loads, by
find_package(Palimpsest) and by pkg-config; the README's by pkg-config."""
import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def run(command, directory=None, **environment):
    """Runs a command and gives its output; a failure ends the test and shows it."""
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def run_program(*command):
    if run(command) != "a note came back\n":
        sys.exit(f"{shlex.join(command)} says something else")


def by_cmake(options, outside, prefix, work):
    build = os.path.join(work, "build")
    run([options.cmake, "-S", outside, "-B", build, "-G", options.generator,
         f"-DCMAKE_CXX_COMPILER={options.compiler}", f"-DCMAKE_PREFIX_PATH={prefix}",
         "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"])
    run([options.cmake, "--build", build])
    run_program(os.path.join(build, "outside"), os.path.join(work, "database-cmake"))
    run_program(os.path.join(build, "host"), os.path.join(build, "libplugin.so"),
                os.path.join(work, "database-cmake-plugin"))


def by_pkg_config(options, outside, prefix, work):
    flags = run(["pkg-config", "--cflags", "--libs", "palimpsest"],
                PKG_CONFIG_PATH=os.path.join(prefix, "lib", "pkgconfig"))

    def built(name, *how):
        program = os.path.join(work, name + "".join(how) + "-pkg-config")
        run([options.compiler, "-std=c++20", *how, os.path.join(outside, name + ".cc"), "-o", program,
             *shlex.split(flags)])
        return program

    run_program(built("main"), os.path.join(work, "database-pkg-config"))
    run_program(built("host"), built("main", "-shared", "-fPIC"),
                os.path.join(work, "database-pkg-config-plugin"))
    notes = built("notes")
    for _ in range(2):  # makes its database, and finds it
        run([notes], directory=work)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("build", "cmake", "generator", "compiler"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        installed, prefix = os.path.join(work, "installed"), os.path.join(work, "moved")
        run([options.cmake, "--install", options.build, "--component", "library", "--prefix", installed])
        os.rename(installed, prefix)  # what is installed names no place
        outside = shutil.copytree(os.path.join(HERE, "outside"), os.path.join(work, "outside"))
        by_cmake(options, outside, prefix, work)
        by_pkg_config(options, outside, prefix, work)
    print("built and run by find_package and by pkg-config")


if __name__ == "__main__":
    main()
