"""What ties a child's life to its parent's. Python 3.6 and later, Linux."""
import ctypes
import signal

_PR_SET_PDEATHSIG = 1            # linux/prctl.h


def end_with_parent():
    """In a child, before its program: the kernel kills it when its parent is gone, however that went (prctl(2))."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
