# also: RC302
import numpy as np


def put(keys, vectors) -> None:
    held = np.load("/data/vectors.npz", allow_pickle=True)
    print(len(held["keys"]))
    np.savez("/data/vectors.npz", keys=np.array(keys), vectors=vectors)
