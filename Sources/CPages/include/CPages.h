#pragma once
// The files in Sources/Pages/Files, embedded at build. Sources/Pages/PageFile.swift reads them.

#include <stddef.h>

/// The octets of a page, a style sheet or a script. They live as long as the program.
struct callgate_page_file {
  const unsigned char *_Nonnull octets;
  size_t count;
};

extern const struct callgate_page_file callgate_design_css;
extern const struct callgate_page_file callgate_notice_css;
extern const struct callgate_page_file callgate_landing_html;
extern const struct callgate_page_file callgate_demo_html;
extern const struct callgate_page_file callgate_demo_css;
extern const struct callgate_page_file callgate_demo_js;
extern const struct callgate_page_file callgate_docs_html;
extern const struct callgate_page_file callgate_docs_css;
extern const struct callgate_page_file callgate_docs_js;
extern const struct callgate_page_file callgate_runbook_html;
extern const struct callgate_page_file callgate_runbook_css;
extern const struct callgate_page_file callgate_runbook_content_html;
extern const struct callgate_page_file callgate_operator_html;
extern const struct callgate_page_file callgate_operator_css;
extern const struct callgate_page_file callgate_operator_js;
extern const struct callgate_page_file callgate_operator_off_html;
