// Rendering and comments: what every template relies on.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "locket/codegen/comments.h"
#include "locket/codegen/render.h"

namespace locket::codegen {
namespace {

TEST(Render, ReplacesNamesWithinLines) {
  EXPECT_EQ(Render("class $Name$ {  // $Name$\n", {{"Name", "A"}}), "class A {  // A\n");
}

TEST(Render, LeavesDollarsInValuesAlone) {
  EXPECT_EQ(Render("a $x$\n$x$\n", {{"x", "$x$"}}), "a $x$\n$x$\n");
}

TEST(Render, SkipsTheNewlineAtTheBeginningAndKeepsBlankLines) {
  EXPECT_EQ(Render("\na\n\nb\n\n", {}), "a\n\nb\n\n");
}

TEST(Render, IndentsEveryLineOfABlockButBlankOnes) {
  EXPECT_EQ(Render("{\n  $block$\n}\n", {{"block", "a\n\n  b\n"}}), "{\n  a\n\n    b\n}\n");
}

TEST(Render, LeavesNoLineForAnEmptyBlock) {
  EXPECT_EQ(Render("{\n  $block$\n}\n", {{"block", ""}}), "{\n}\n");
}

TEST(CommentLines, ArePrefixedAndTrimmed) {
  EXPECT_EQ(CommentLines(" a \n\n  b\r\nc\n \n"), "// a\n//\n//  b\n//c\n");
}

TEST(CommentLines, AreNoneForAnEmptyComment) {
  EXPECT_EQ(CommentLines(""), "");
  EXPECT_EQ(CommentLines(" \n\n"), "");
}

TEST(CommentLines, NeverEndInABackslash) {
  EXPECT_EQ(CommentLines(" C:\\\n D:\\  \n"), "// C:\\ //\n// D:\\ //\n");
}

}  // namespace
}  // namespace locket::codegen
