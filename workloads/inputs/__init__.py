"""What goes into each sequence model, the same bytes in every framework. Python 3.6 and later, numpy only.

inputs/<model>.py has
    samples(sizes, count, seed, folder)    a list of dicts of arrays, one a sample; folder is that of the real data set,
                                           None where seeded sequences stand in for it
    collate(sizes, samples, numbers, has_buckets=False)
                                           a dict of arrays: the batch, padded to its longest sample, or to the next of
                                           a few lengths; real numbers in numbers
    tokens(batch)                          (real ones, with padding): time steps or tokens of a batch
"""
