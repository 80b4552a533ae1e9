// C interface of BridgeStan 2.7 to a Stan program, on the headers of Stan alone.
//
// It is linked to the class that stanc writes for a program. Second derivatives are left out: they return an error.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <stan/io/empty_var_context.hpp>
#include <stan/io/json/json_data.hpp>
#include <stan/math.hpp>
#include <stan/model/model_base.hpp>
#include <stan/services/util/create_rng.hpp>

stan::model::model_base& new_model(stan::io::var_context& data, unsigned int seed, std::ostream* messages);

using Generator = decltype(stan::services::util::create_rng(0, 1));

class bs_model {
 public:
  bs_model(stan::io::var_context& data, unsigned int seed) : model(&new_model(data, seed, nullptr)) {
    const auto join = [](const std::vector<std::string>& names) {
      std::string all;
      for (const auto& name : names) all += (all.empty() ? "" : ",") + name;
      return all;
    };
    for (int k = 0; k < 4; ++k) {
      std::vector<std::string> of;
      model->constrained_param_names(of, k & 1, k & 2);
      names[k] = join(of), counts[k] = static_cast<int>(of.size());
    }
    std::vector<std::string> of;
    model->unconstrained_param_names(of, false, false);
    unconstrained = join(of);
    name = model->model_name();
    for (const auto& line : model->model_compile_info()) info += line + "\n";
#ifdef STAN_THREADS
    info += "STAN_THREADS=true\n";
#endif
  }
  std::unique_ptr<stan::model::model_base> model;
  std::string names[4], unconstrained, name, info;
  int counts[4];
};

class bs_rng {
 public:
  explicit bs_rng(unsigned int seed) : generator(stan::services::util::create_rng(seed, 1)) {}
  Generator generator;
};

namespace {

// The result of f; -1 and a message of the caller's if it throws.
template <typename F>
int guarded(char** message, F&& f) {
  std::string text = "an unknown error";
  try {
    f();
    return 0;
  } catch (const std::exception& error) {
    text = error.what();
  } catch (...) {
  }
  if (message) *message = strdup(text.c_str());
  return -1;
}

// Every thread has its own tape of derivatives.
void tape() { static thread_local stan::math::ChainableStack stack; }

Eigen::VectorXd vector(const double* values, int count) { return Eigen::Map<const Eigen::VectorXd>(values, count); }

template <typename V>
auto log_density(const stan::model::model_base& model, bool propto, bool jacobian, V& z) {
  if (propto) return jacobian ? model.log_prob_propto_jacobian(z, nullptr) : model.log_prob_propto(z, nullptr);
  return jacobian ? model.log_prob_jacobian(z, nullptr) : model.log_prob(z, nullptr);
}

double gradient(const bs_model* m, bool propto, bool jacobian, const double* at, double* slope) {
  tape();
  stan::math::nested_rev_autodiff nested;
  const int count = static_cast<int>(m->model->num_params_r());
  Eigen::Matrix<stan::math::var, -1, 1> z = vector(at, count).cast<stan::math::var>();
  stan::math::var value = log_density(*m->model, propto, jacobian, z);
  value.grad();
  for (int i = 0; i < count; ++i) slope[i] = z(i).adj();
  return value.val();
}

}  // namespace

#define PUBLIC __attribute__((visibility("default")))

extern "C" {

PUBLIC extern const int bs_major_version = 2;
PUBLIC extern const int bs_minor_version = 7;
PUBLIC extern const int bs_patch_version = 0;

// Data are JSON, or the path of a file that ends in .json.
PUBLIC bs_model* bs_model_construct(const char* data, unsigned int seed, char** message) {
  bs_model* made = nullptr;
  guarded(message, [&] {
    tape();
    const std::string text = data ? data : "";
    const bool is_file = text.size() > 5 && text.compare(text.size() - 5, 5, ".json") == 0;
    if (text.empty()) {
      stan::io::empty_var_context none;
      made = new bs_model(none, seed);
      return;
    }
    std::unique_ptr<std::istream> in;
    if (is_file)
      in = std::make_unique<std::ifstream>(text);
    else
      in = std::make_unique<std::istringstream>(text);
    if (!*in) throw std::runtime_error("cannot read " + text);
    stan::json::json_data parsed(*in);
    made = new bs_model(parsed, seed);
  });
  return made;
}

PUBLIC void bs_model_destruct(bs_model* m) { delete m; }
PUBLIC void bs_free_error_msg(char* message) { free(message); }
PUBLIC const char* bs_name(const bs_model* m) { return m->name.c_str(); }
PUBLIC const char* bs_model_info(const bs_model* m) { return m->info.c_str(); }
PUBLIC const char* bs_param_names(const bs_model* m, bool tp, bool gq) { return m->names[tp + 2 * gq].c_str(); }
PUBLIC const char* bs_param_unc_names(const bs_model* m) { return m->unconstrained.c_str(); }
PUBLIC int bs_param_num(const bs_model* m, bool tp, bool gq) { return m->counts[tp + 2 * gq]; }
PUBLIC int bs_param_unc_num(const bs_model* m) { return static_cast<int>(m->model->num_params_r()); }

PUBLIC int bs_param_constrain(const bs_model* m, bool tp, bool gq, const double* z, double* theta, bs_rng* rng,
                              char** message) {
  return guarded(message, [&] {
    tape();
    if (gq && !rng) throw std::runtime_error("generated quantities need a generator of random numbers");
    Generator fixed = stan::services::util::create_rng(0, 1);
    Eigen::VectorXd at = vector(z, bs_param_unc_num(m)), out;
    m->model->write_array(rng ? rng->generator : fixed, at, out, tp, gq, nullptr);
    std::copy(out.data(), out.data() + out.size(), theta);
  });
}

PUBLIC int bs_param_unconstrain(const bs_model* m, const double* theta, double* z, char** message) {
  return guarded(message, [&] {
    tape();
    Eigen::VectorXd at = vector(theta, m->counts[0]), out;
    m->model->unconstrain_array(at, out, nullptr);
    std::copy(out.data(), out.data() + out.size(), z);
  });
}

PUBLIC int bs_param_unconstrain_json(const bs_model* m, const char* json, double* z, char** message) {
  return guarded(message, [&] {
    tape();
    std::istringstream in(json);
    stan::json::json_data parsed(in);
    Eigen::VectorXd out;
    m->model->transform_inits(parsed, out, nullptr);
    std::copy(out.data(), out.data() + out.size(), z);
  });
}

PUBLIC int bs_log_density(const bs_model* m, bool propto, bool jacobian, const double* z, double* out, char** message) {
  return guarded(message, [&] {
    const int count = bs_param_unc_num(m);
    if (propto) {  // terms without parameters are dropped for derivatives alone
      std::vector<double> slope(count);
      *out = gradient(m, propto, jacobian, z, slope.data());
    } else {
      tape();
      Eigen::VectorXd at = vector(z, count);
      *out = log_density(*m->model, false, jacobian, at);
    }
  });
}

PUBLIC int bs_log_density_gradient(const bs_model* m, bool propto, bool jacobian, const double* z, double* out,
                                   double* slope, char** message) {
  return guarded(message, [&] { *out = gradient(m, propto, jacobian, z, slope); });
}

// Beyond BridgeStan: the points of a batch one after another. A point that the program rejects has density zero.

PUBLIC void mcsa_log_densities(const bs_model* m, int points, const double* z, double* out) {
  const int count = bs_param_unc_num(m);
  for (int j = 0; j < points; ++j)
    if (bs_log_density(m, false, true, z + j * count, out + j, nullptr)) out[j] = -INFINITY;
}

PUBLIC void mcsa_gradients(const bs_model* m, int points, const double* z, double* out, double* slopes) {
  const int count = bs_param_unc_num(m);
  for (int j = 0; j < points; ++j) {
    double* slope = slopes + j * count;
    if (bs_log_density_gradient(m, false, true, z + j * count, out + j, slope, nullptr)) {
      out[j] = -INFINITY;
      std::fill(slope, slope + count, 0.0);
    }
  }
}

PUBLIC int bs_log_density_hessian(const bs_model*, bool, bool, const double*, double*, double*, double*, char** message) {
  return guarded(message, [] { throw std::runtime_error("second derivatives are not compiled in"); });
}

PUBLIC int bs_log_density_hessian_vector_product(const bs_model*, bool, bool, const double*, const double*, double*,
                                                 double*, char** message) {
  return guarded(message, [] { throw std::runtime_error("second derivatives are not compiled in"); });
}

PUBLIC bs_rng* bs_rng_construct(unsigned int seed, char** message) {
  bs_rng* made = nullptr;
  guarded(message, [&] { made = new bs_rng(seed); });
  return made;
}

PUBLIC void bs_rng_destruct(bs_rng* rng) { delete rng; }

typedef void (*bs_print_callback)(const char*, size_t);
PUBLIC int bs_set_print_callback(bs_print_callback, char**) { return 0; }

}  // extern "C"
