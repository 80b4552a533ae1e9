// Logistic regression with independent normal priors.
data {
  int<lower=1> rows;
  int<lower=1> features;
  matrix[rows, features] x;
  array[rows] int<lower=0, upper=1> y;
  real<lower=0> prior_scale;
}
parameters {
  vector[features] weights;
}
model {
  weights ~ normal(0, prior_scale);
  y ~ bernoulli_logit_glm(x, 0, weights);
}
