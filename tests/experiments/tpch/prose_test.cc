// Pseudo-text: the words and sentences of the specification's grammar, pieces of any length.
#include "experiments/tpch/prose.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "tests/experiments/chi_square.h"

namespace palimpsest::experiments::tpch {
namespace {

/// The first `count` sentences, each with its mark.
std::vector<std::string> sentences(std::string_view text, std::size_t count) {
  std::vector<std::string> found;
  std::string sentence;
  for (std::size_t i = 0; i < text.size() && found.size() < count; ++i) {
    sentence += text[i];
    const bool ends = std::string_view(".;:?!").find(text[i]) != std::string_view::npos ||
                      (text[i] == '-' && i + 1 < text.size() && text[i - 1] == '-');
    if (ends) {
      found.push_back(sentence);
      sentence.clear();
      ++i;  // the space
    }
  }
  return found;
}

TEST(TpchProse, IsSentences) {
  constexpr std::size_t kSentences = 20'000;
  const Prose prose(1);
  ASSERT_EQ(prose.text().size(), Prose::kBytes);
  const auto some = sentences(prose.text(), kSentences);
  ASSERT_EQ(some.size(), kSentences);
  const std::regex words("[a-zA-Z-]+(,? [a-zA-Z-]+)+(\\.|;|:|\\?|!|--)");
  const std::regex article("\\bthe\\b");
  std::map<char, int> ends;
  int articles = 0;
  for (const std::string& sentence : some) {
    ASSERT_TRUE(std::regex_match(sentence, words)) << sentence;
    ++ends[sentence.back()];
    for (std::sregex_iterator at(sentence.begin(), sentence.end(), article), end; at != end; ++at) {
      ++articles;
    }
  }
  EXPECT_EQ(ends.size(), 6U) << "all marks";
  EXPECT_NEAR(ends['.'] / 20'000.0, 50 / 55.0, 0.01);
  // One in each prepositional phrase, of which the five kinds of sentences have 0, 1, 0, 1 and 2.
  EXPECT_NEAR(articles / 20'000.0, (3 * 1 + 1 * 1 + 1 * 2) / 11.0, 0.02);
}

TEST(TpchProse, HasTheWordsThatQueriesLookFor) {
  const Prose prose(1);
  for (const char* word : {" special ", " pending ", " unusual ", " express ", "packages",
                           "requests", "accounts", "deposits", " the ", " x-ray ", "Tiresias",
                           "pinto beans", " according to ", " should have to "}) {
    EXPECT_NE(prose.text().find(word), std::string_view::npos) << word;
  }
}

TEST(TpchProse, PiecesAreUniform) {
  const Prose prose(1);
  Random random(2);
  test::Counts lengths(34);
  test::Counts places(16);
  for (int i = 0; i < 100'000; ++i) {
    const std::string_view piece = prose.piece(random, 10, 43);
    lengths.add(static_cast<std::int64_t>(piece.size()) - 10);
    places.add((piece.data() - prose.text().data()) * 16 /
               static_cast<std::int64_t>(Prose::kBytes));
  }
  lengths.expect_uniform();
  places.expect_uniform();
}

TEST(TpchProse, IsAFunctionOfItsSeed) {
  EXPECT_EQ(Prose(1).text(), Prose(1).text());
  EXPECT_NE(Prose(1).text(), Prose(2).text());
}

}  // namespace
}  // namespace palimpsest::experiments::tpch
