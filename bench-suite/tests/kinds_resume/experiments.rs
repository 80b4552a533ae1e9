//! Experiments of jobs that no experiment of the repository has in a short form.

/// Fits of shapes in two stages after a warm fit.
pub(crate) const SHAPES: &str = "
id = 'shapes'
title = 'Shapes'
reproduces = []
seed = 3
preset.quick = { replicates = 1, steps = 30 }
preset.default = { replicates = 1, steps = 30 }
preset.paper = { replicates = 1, steps = 30 }
[fits]
metrics = 'reference'
start = { kind = 'warm', mean = 0.5, scale = 1.5, steps = 10 }
trace = { points = 6, spacing = 'even' }
[[fits.optimizer]]
kind = 'adam'
rate = 0.02
[[fits.schedule]]
name = 'two'
stages = [{ part = 0.4, defence = 0.5, power = 0.5 }, { part = 0.6, defence = 0.1, power = 1.0 }]
[[fits.target]]
kind = 'banana'
width = 2.0
bend = 0.5
[[fits.family]]
kind = 'affine-flow'
couplings = 2
width = 4
[[fits.method]]
kind = 'pmcsa'
chains = 4
[[fits.method]]
kind = 'jsa'
transitions = 4
[[fits.method]]
kind = 'msc-rb'
fresh = 4
[[fits.method]]
kind = 'elbo'
samples = 4
";

/// Chains of both methods, forty each.
pub(crate) const CHAINS: &str = "
id = 'chains'
title = 'Chains'
reproduces = []
seed = 3
preset.quick = { replicates = 1, steps = 1, draws = 12 }
preset.default = { replicates = 1, steps = 1, draws = 12 }
preset.paper = { replicates = 1, steps = 1, draws = 12 }
[fits]
metrics = { bound = { draws = 2 } }
start = { kind = 'standard' }
trace = { points = 1, spacing = 'even' }
[[fits.optimizer]]
kind = 'adam'
rate = 0.02
[[fits.target]]
kind = 'synthetic-logistic'
name = 'synthetic'
rows = 40
held_out = 10
dim = 2
rate = 0.2
correlation = 0.5
prior_scale = 1.0
seed = 1
[[fits.family]]
kind = 'mean-field'
[[fits.method]]
kind = 'hmcecs'
rows = 8
blocks = 4
chains = 40
[[fits.method]]
kind = 'nuts-cs'
points = 12
chains = 40
";
