// Out-of-bag predictions for perturbed rows: a row is predicted by all leaves that its perturbed values may reach, in
// trees that have not seen it, and is itself taken out of the counts at the leaves where it is without noise.
#pragma once

#include "votes/tables.hpp"

namespace petiole {

// The same rows with noise (where they are asked) and without (where they are counted).
struct SoftRows {
  const Members& asked;
  const Members& counted;
  TrainingRows rows;
  double oob_weight;  // with which out-of-bag rows are in the counts
};

// The mean of frequencies counts / sum over the trees that have not seen a row. Leaves that have nothing left are passed
// over; NaN where all are.
void soft_out_of_bag_frequencies(const SoftRows& rows, const LeafTables& counts, ThreadPool& pool, double* out);

// The same with the rows of MOB-ESP's leaf matrices: `filed` are the votes by which the rows were filed without noise,
// `winners` and `votes` (n_rows x n_classes) those of the perturbed rows.
struct SoftVotes {
  const std::int32_t* filed;
  const std::int32_t* winners;
  const double* votes;
};
void soft_out_of_bag_rows(const SoftRows& rows, const VoteTables& tables, const SoftVotes& votes, VoteTables::Rows which,
                          ThreadPool& pool, double* out);

}  // namespace petiole
