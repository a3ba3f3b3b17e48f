// Filing the training rows at the leaves of a forest by the ensemble's votes: how MOB-ESP's tables come about.
#pragma once

#include "votes/tables.hpp"

namespace petiole {

// The tables of each tree. votes: as for VoteTables; distinct: a row counts once, however often it is in a sample.
std::vector<VoteTables::OfTree> file_rows(const Members& members, const std::int32_t* votes, TrainingRows rows, int n_classes,
                                          bool distinct, ThreadPool& pool);

}  // namespace petiole
