"""The models, a file each: dimensions, parameters, FLOPs and the computation as numbered steps."""
