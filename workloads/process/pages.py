"""The pages of files, such as libraries, that processes hold in memory. Python 3.6 and later, Linux."""
import array
import mmap
import os

_PRESENT = 1 << 63           # of an entry of pagemap (proc(5))


def only_in(other):
    """Bytes of files that another process has in memory by a mapping, and this one has not at the same addresses.

    0 where the kernel does not say.
    """
    try:
        with open("/proc/%d/maps" % other) as maps, open("/proc/%d/pagemap" % other, "rb") as theirs, \
                open("/proc/self/pagemap", "rb") as ours:
            files = [line.split()[0] for line in maps if line.split()[4] != "0"]             # have an inode
            return mmap.PAGESIZE * sum(
                bool(there & _PRESENT and not here & _PRESENT) for addresses in files
                for there, here in zip(_entries(theirs, addresses), _entries(ours, addresses)))
    except OSError:
        return 0


def _entries(pagemap, addresses: str):
    first, end = (int(each, 16) // mmap.PAGESIZE for each in addresses.split("-"))
    return array.array("Q", os.pread(pagemap.fileno(), 8 * (end - first), 8 * first))
