"""The target of several tests: a Gaussian in two dimensions."""

import numpy as np

MEAN, SD = np.array([1.0, -2.0]), np.array([0.5, 3.0])


def gaussian(z):
    return -0.5 * (((z - MEAN) / SD) ** 2).sum(axis=1)


def slope(z):
    return (MEAN - z) / SD**2
