// The files of the pages as octets in the program. A document of several files has them in their order here, which `script/lint-pages`
// reads as well. In C, because its compiler embeds a file at no cost: an array literal in Swift takes the compiler a second for each six kilobytes.

#include "CPages.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char design_css[] = {
#embed "../Pages/Files/design.css"
};
const struct callgate_page_file callgate_design_css = {design_css, sizeof design_css};

static const unsigned char notice_css[] = {
#embed "../Pages/Files/notice.css"
};
const struct callgate_page_file callgate_notice_css = {notice_css, sizeof notice_css};

static const unsigned char landing_html[] = {
#embed "../Pages/Files/landing.html"
};
const struct callgate_page_file callgate_landing_html = {landing_html, sizeof landing_html};

static const unsigned char demo_html[] = {
#embed "../Pages/Files/demo/demo.html"
};
const struct callgate_page_file callgate_demo_html = {demo_html, sizeof demo_html};

static const unsigned char demo_css[] = {
#embed "../Pages/Files/demo/demo.css"
};
const struct callgate_page_file callgate_demo_css = {demo_css, sizeof demo_css};

static const unsigned char demo_js[] = {
#embed "../Pages/Files/demo/shared.js"
, '\n',
#embed "../Pages/Files/demo/bar.js"
, '\n',
#embed "../Pages/Files/demo/token.js"
, '\n',
#embed "../Pages/Files/demo/seen.js"
, '\n',
#embed "../Pages/Files/demo/call.js"
, '\n',
#embed "../Pages/Files/demo/fault.js"
, '\n',
#embed "../Pages/Files/demo/later.js"
, '\n',
#embed "../Pages/Files/demo/enrol.js"
, '\n',
#embed "../Pages/Files/demo/trust.js"
, '\n',
#embed "../Pages/Files/demo/push.js"
, '\n',
#embed "../Pages/Files/demo/dialog.js"
, '\n',
#embed "../Pages/Files/demo/ticket.js"
, '\n',
#embed "../Pages/Files/demo/gms.js"
, '\n',
#embed "../Pages/Files/demo/agent.js"
, '\n',
#embed "../Pages/Files/demo/keeping.js"
, '\n',
#embed "../Pages/Files/demo/start.js"
};
const struct callgate_page_file callgate_demo_js = {demo_js, sizeof demo_js};

static const unsigned char docs_html[] = {
#embed "../Pages/Files/docs/docs.html"
};
const struct callgate_page_file callgate_docs_html = {docs_html, sizeof docs_html};

static const unsigned char docs_js[] = {
#embed "../Pages/Files/docs/docs.js"
};
const struct callgate_page_file callgate_docs_js = {docs_js, sizeof docs_js};

static const unsigned char docs_css[] = {
#embed "../Pages/Files/docs/docs.css"
};
const struct callgate_page_file callgate_docs_css = {docs_css, sizeof docs_css};

static const unsigned char runbook_html[] = {
#embed "../Pages/Files/runbook/runbook.html"
};
const struct callgate_page_file callgate_runbook_html = {runbook_html, sizeof runbook_html};

static const unsigned char runbook_css[] = {
#embed "../Pages/Files/runbook/runbook.css"
};
const struct callgate_page_file callgate_runbook_css = {runbook_css, sizeof runbook_css};

static const unsigned char runbook_content_html[] = {
#embed "../Pages/Files/runbook/content.html"
};
const struct callgate_page_file callgate_runbook_content_html = {runbook_content_html, sizeof runbook_content_html};

static const unsigned char operator_html[] = {
#embed "../Pages/Files/operator/operator.html"
};
const struct callgate_page_file callgate_operator_html = {operator_html, sizeof operator_html};

static const unsigned char operator_css[] = {
#embed "../Pages/Files/operator/operator.css"
};
const struct callgate_page_file callgate_operator_css = {operator_css, sizeof operator_css};

static const unsigned char operator_js[] = {
#embed "../Pages/Files/operator/shared.js"
, '\n',
#embed "../Pages/Files/operator/asking.js"
, '\n',
#embed "../Pages/Files/operator/attention.js"
, '\n',
#embed "../Pages/Files/operator/now.js"
, '\n',
#embed "../Pages/Files/operator/hour.js"
, '\n',
#embed "../Pages/Files/operator/kill-switch.js"
, '\n',
#embed "../Pages/Files/operator/numbers.js"
, '\n',
#embed "../Pages/Files/operator/installations.js"
, '\n',
#embed "../Pages/Files/operator/services.js"
, '\n',
#embed "../Pages/Files/operator/desks.js"
, '\n',
#embed "../Pages/Files/operator/callbacks.js"
, '\n',
#embed "../Pages/Files/operator/configuration.js"
, '\n',
#embed "../Pages/Files/operator/decisions.js"
, '\n',
#embed "../Pages/Files/operator/lists.js"
, '\n',
#embed "../Pages/Files/operator/polling.js"
};
const struct callgate_page_file callgate_operator_js = {operator_js, sizeof operator_js};

static const unsigned char operator_off_html[] = {
#embed "../Pages/Files/operator/off.html"
};
const struct callgate_page_file callgate_operator_off_html = {operator_off_html, sizeof operator_off_html};
