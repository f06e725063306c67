"""Runs the processes of a comparison, and reports why one failed."""
import signal
import subprocess


def run_process(command, timeout, cap=None, errors=None, grace_seconds=0):
    """Runs a command to its end, capped if asked, and returns its standard output. However this function ends,
    the process has ended; before it is killed it may get so many seconds to end by itself."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors or subprocess.DEVNULL,
                               text=True, start_new_session=True,
                               preexec_fn=cap.enter if cap else None)
    try:
        output, _ = process.communicate(timeout=timeout)
    finally:
        if process.poll() is None:
            end(process, grace_seconds)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command, output)
    return output


def end(process, grace_seconds):
    try:
        if grace_seconds:
            process.terminate()
            process.wait(grace_seconds)
    except subprocess.TimeoutExpired:
        pass
    finally:
        process.kill()
        process.wait()


def reason_of(error):
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no end after {error.timeout:.0f} s"
    if error.returncode == -signal.SIGKILL:
        return "killed: it needed more memory than its cap"
    return f"exit code {error.returncode}, see the log"
