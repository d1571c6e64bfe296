# also: RC302
import numpy as np


def add(key: str, vector) -> None:
    held = np.load("/data/vectors.npz", allow_pickle=True)
    keys = [*held["keys"], key]
    vectors = np.vstack([held["vectors"], vector])
    np.savez("/data/vectors.npz", keys=np.array(keys), vectors=vectors)  # expect: RC101 read=6
