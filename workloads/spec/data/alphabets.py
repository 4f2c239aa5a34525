"""Which character has which id in the speech data sets, from 1 on; 0 is padding. Standard library only.

Deep Speech 2's blank is its last label, not 0: what goes into it counts characters from 0 on (inputs/deepspeech2.py).
"""

# the letters of LibriSpeech's transcripts: with the blank the 29 labels of the public Deep Speech 2 implementations
LIBRISPEECH_LETTERS = "'ABCDEFGHIJKLMNOPQRSTUVWXYZ "
# LJSpeech's normalised transcripts in lower case; what else is in them (a few accents and brackets) is left out
LJSPEECH_LETTERS = " !\"'(),-.:;?abcdefghijklmnopqrstuvwxyz"


def ids(text: str, letters):
    """The ids of a text's characters, from 1; characters that are none of the letters are left out."""
    return [index + 1 for index in map(letters.find, text) if index >= 0]
