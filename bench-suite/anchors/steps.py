"""Time of a step of pMCSA with ten chains: the program's, and the same step in JAX, each on one core and on two.

`python steps.py PROGRAM [ROUNDS]`, with PROGRAM made by `cargo build --release -p mcsa-speed --example steps`. Every round times the program,
JAX and the program again; medians over rounds are printed, in microseconds a step. The targets have the shapes, the densities and the
coordinates of the paths in `bench-suite/speed/src/lib.rs`. The JAX step is in double precision, one compiled loop, with batched products.
Its normal numbers are drawn step by step or for a hundred steps at once, by either generator: the fastest of the four counts.
"""

import os
import statistics
import subprocess
import sys
import time

# Set in the processes that this one starts.
CORES = int(os.environ.get("STEPS_CORES", "0"))
if CORES:
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:CORES]))

CHAINS, STEPS, BLOCK = 10, 2_000, 100


def peers():
    import jax

    jax.config.update("jax_enable_x64", True)
    import jax.numpy as jnp
    import numpy as np
    from jax.scipy.special import erfc

    rng = np.random.default_rng(1)

    def rows(n, d):
        x = rng.standard_normal((n, d))
        return x, np.where(x[:, 0] - x[:, min(1, d - 1)] + rng.standard_normal(n) > 0, 1.0, -1.0)

    def log_sigmoid(t):
        return jnp.minimum(t, 0.0) - jnp.log1p(jnp.exp(-jnp.abs(t)))

    def logistic(n, d):
        x, signs = rows(n, d)
        signed = jnp.asarray(signs[:, None] * np.column_stack([x, np.ones(n)]))

        def log_density(z):
            u, v, beta, alpha = z[:, 0], z[:, 1], z[:, 2:-1], z[:, -1]
            scales = u + v - 0.5 * (jnp.exp(2 * u) + jnp.exp(2 * v))
            weights = jnp.exp(-2 * u) * (beta**2).sum(1) + jnp.exp(-2 * v) * alpha**2
            return scales - d * u - v - 0.5 * weights + log_sigmoid(z[:, 2:] @ signed.T).sum(1)

        return log_density, d + 3

    def probit(n, d):
        x, signs = rows(n, d)
        signed = jnp.asarray(signs[:, None] * x)

        def log_density(z):
            margins = z @ signed.T
            return -0.5 * (z**2).sum(1) + jnp.log(0.5 * erfc(-margins * 0.5**0.5)).sum(1)

        return log_density, d

    def radon():
        county, floor = np.arange(919) % 85, (np.arange(919) % 6 == 0).astype(float)
        y = rng.standard_normal(919)
        count = np.bincount(county).astype(float)
        mean_x, mean_y = np.bincount(county, floor) / count, np.bincount(county, y) / count
        off_x, off_y = floor - mean_x[county], y - mean_y[county]
        spread = np.bincount(county, off_x**2)
        slope = np.bincount(county, off_x * off_y) / np.maximum(spread, 1e-300)
        residual = ((off_y - slope[county] * off_x) ** 2).sum()

        def log_density(z):
            log_scales, a, b = z[:, :3], z[:, 5:90], z[:, 90:]
            mu_a, mu_b = z[:, 3:4], z[:, 4:5]
            precision = jnp.exp(-2 * log_scales)
            gap, tilt = mean_y - a - b * mean_x, b - slope
            squares = precision[:, 0] * ((a - mu_a) ** 2).sum(1) + precision[:, 1] * ((b - mu_b) ** 2).sum(1)
            squares += precision[:, 2] * (residual + (count * gap**2 + spread * tilt**2).sum(1))
            prior = (log_scales - 0.02 * jnp.exp(log_scales)).sum(1) - 0.5 * (z[:, 3] ** 2 + z[:, 4] ** 2)
            return prior - 0.5 * squares - 85 * (z[:, 0] + z[:, 1]) - 919 * z[:, 2]

        return log_density, 175

    def network(n, d, hidden=50):
        x, _ = rows(n, d)
        inputs = jnp.asarray(np.column_stack([x, np.ones(n)]) / (d + 1) ** 0.5)
        y = jnp.asarray(rng.standard_normal(n))

        def log_density(z):
            weights = z[:, 2:]
            first, second = weights[:, : hidden * (d + 1)], weights[:, hidden * (d + 1) :]
            units = jnp.maximum(first.reshape(-1, d + 1) @ inputs.T, 0.0).reshape(-1, hidden, n)
            out = (jnp.einsum("chn,ch->cn", units, second[:, :-1]) + second[:, -1:]) / (hidden + 1) ** 0.5
            prior = 6.0 * (z[:, 0] + z[:, 1]) - 6.0 * (jnp.exp(z[:, 0]) + jnp.exp(z[:, 1]))
            normal = 0.5 * weights.shape[1] * z[:, 0] - 0.5 * jnp.exp(z[:, 0]) * (weights**2).sum(1)
            return prior + normal + 0.5 * n * z[:, 1] - 0.5 * jnp.exp(z[:, 1]) * ((out - y) ** 2).sum(1)

        return log_density, hidden * (d + 2) + 3

    def process(n, d=5):
        x, signs = rows(n, d)
        squares, signs = jnp.asarray((x[:, None, :] - x[None, :, :]) ** 2).reshape(n * n, d), jnp.asarray(signs)

        def log_density(z):
            f = z[:, 2 + d :]
            r = jnp.sqrt(5.0 * (squares @ jnp.exp(-2 * z[:, 2 : 2 + d]).T)).T.reshape(-1, n, n)
            kernel = jnp.exp(2 * z[:, 0])[:, None, None] * (1 + r + r * r / 3) * jnp.exp(-r)
            kernel += (jnp.exp(2 * z[:, 1]) + 1e-6)[:, None, None] * jnp.eye(n)
            factor = jnp.linalg.cholesky(kernel)
            white = jax.scipy.linalg.solve_triangular(factor, f[:, :, None], lower=True)[:, :, 0]
            log_det = jnp.log(jnp.diagonal(factor, axis1=1, axis2=2)).sum(1)
            hyper = -0.5 * (z[:, : 2 + d] ** 2).sum(1)
            return hyper - 0.5 * (white**2).sum(1) - log_det + log_sigmoid(f * signs).sum(1)

        return log_density, 2 + d + n

    def run_of(log_density, dim, steps, block, generator):
        def step(at, drawn):
            log_uniform, normals = drawn
            z, log_p, mean, log_scale, m, v, t = at
            proposed = mean + jnp.exp(log_scale) * normals
            of_proposed = log_density(proposed)
            # Independent proposals: the ratio of weights p / q.
            log_q = -0.5 * (((z - mean) * jnp.exp(-log_scale)) ** 2).sum(1)
            is_accepted = log_uniform < of_proposed + 0.5 * (normals**2).sum(1) - log_p + log_q
            z = jnp.where(is_accepted[:, None], proposed, z)
            log_p = jnp.where(is_accepted, of_proposed, log_p)
            white = (z - mean) * jnp.exp(-log_scale)
            score = jnp.concatenate([(white * jnp.exp(-log_scale)).mean(0), (white**2 - 1.0).mean(0)])
            t = t + 1.0
            m, v = 0.9 * m + 0.1 * score, 0.999 * v + 0.001 * score**2
            change = 0.01 * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
            return (z, log_p, mean + change[:dim], log_scale + change[dim:], m, v, t), None

        def draws(key, count):
            for_normals, for_uniforms = jax.random.split(key)
            normals = jax.random.normal(for_normals, (count, CHAINS, dim))
            return jnp.log(jax.random.uniform(for_uniforms, (count, CHAINS))), normals

        def block_of(at, key):
            return jax.lax.scan(step, at, draws(key, block))[0], None

        keys = jax.random.split(jax.random.key(2, impl=generator), steps // block)
        run = jax.jit(lambda at: jax.lax.scan(block_of, at, keys)[0])
        z = jnp.zeros((CHAINS, dim))
        start = (z, log_density(z), jnp.zeros(dim), jnp.full(dim, -0.7), jnp.zeros(2 * dim), jnp.zeros(2 * dim), 0.0)
        return run, jax.block_until_ready(run(start))

    shapes = {
        "pima": (lambda: logistic(691, 8), STEPS),
        "german": (lambda: logistic(900, 24), STEPS),
        "heart": (lambda: logistic(243, 13), STEPS),
        "probit": (lambda: probit(500, 10), STEPS),
        "radon": (radon, STEPS),
        "network boston": (lambda: network(455, 13), 400),
        "network concrete": (lambda: network(927, 8), 400),
        "process 315": (lambda: process(315), 20),
    }
    for name, (make, steps) in shapes.items():
        log_density, dim = make()
        for block in {1, min(BLOCK, steps)}:
            for generator in ("threefry2x32", "unsafe_rbg"):
                yield name, steps, run_of(log_density, dim, steps, block, generator)


def child():
    import jax

    best = {}
    for name, steps, (run, at) in peers():
        times = []
        for _ in range(5):
            start = time.perf_counter()
            at = jax.block_until_ready(run(at))
            times.append((time.perf_counter() - start) / steps * 1e6)
        best[name] = min(best.get(name, float("inf")), statistics.median(times))
    for name, microseconds in best.items():
        print(f"{name}\t{microseconds}")


def lines(command, **environment):
    out = subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True, text=True).stdout
    return {name: [float(number) for number in numbers] for name, *numbers in (line.split("\t") for line in out.splitlines())}


def main(program, rounds):
    ours, floors, theirs = ({1: {}, 2: {}} for _ in range(3))
    for _ in range(rounds):
        for cores in (1, 2):
            before = lines([program, str(cores)])
            peer = lines([sys.executable, __file__], STEPS_CORES=str(cores))
            after = lines([program, str(cores)])
            for name, (time_of_step, of_densities) in [*before.items(), *after.items()]:
                ours[cores].setdefault(name, []).append(time_of_step)
                floors[cores].setdefault(name, []).append(of_densities)
            for name, (time_of_step,) in peer.items():
                theirs[cores].setdefault(name, []).append(time_of_step)
    print("target,cores,ours,ten densities alone,JAX,ratio")
    for name in theirs[1]:
        for cores in (1, 2):
            if cores > 1 and f"{name}, all cores" in ours[cores]:
                ours[cores][name], floors[cores][name] = (of[cores][f"{name}, all cores"] for of in (ours, floors))
            a, b, c = (statistics.median(of[cores][name]) for of in (ours, floors, theirs))
            print(f"{name},{cores},{a:.1f},{b:.1f},{c:.1f},{c / a:.2f}", flush=True)


if CORES:
    child()
else:
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3)
