#pragma once
// libcurl, with one typed function for each kind of argument: Swift cannot call variadic C functions, and a
// wrong type passed to the real ones is undefined behavior that no compiler detects.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <openssl/ssl.h>

#if LIBCURL_VERSION_NUM < 0x075000
#error "libcurl 7.80 or newer is needed: CURLOPT_PREREQFUNCTION tells whether a request may have been sent"
#endif

static inline CURLcode callgate_easy_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode callgate_easy_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

// libcurl copies the string.
static inline CURLcode callgate_easy_set_string(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

// libcurl keeps the pointer.
static inline CURLcode callgate_easy_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

// libcurl keeps the list.
static inline CURLcode callgate_easy_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}

// libcurl copies the bytes.
static inline CURLcode callgate_easy_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count) {
  struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
  return curl_easy_setopt(easy, option, &blob);
}

// For CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION.
static inline CURLcode callgate_easy_set_receiver(CURL *easy, CURLoption option, curl_write_callback value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode callgate_easy_set_share(CURL *easy, CURLSH *share) {
  return curl_easy_setopt(easy, CURLOPT_SHARE, share);
}

static inline CURLcode callgate_easy_set_prerequest(CURL *easy, curl_prereq_callback value) {
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}

static inline CURLcode callgate_easy_set_socket_options(CURL *easy, curl_sockopt_callback value) {
  return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, value);
}

// Completes the SSL_CTX that libcurl creates for each connection.
static inline CURLcode callgate_complete_context(CURL *easy, void *context, void *unused) {
  (void)easy;
  (void)unused;
  // Most servers resume TLS 1.2 sessions only by ticket (RFC 5077). libcurl disables tickets because of
  // servers from 2010.
  SSL_CTX_clear_options(context, SSL_OP_NO_TICKET);
  // Level 2 refuses RSA under 2048 bits and SHA-1 signatures whatever openssl.cnf says. It is set here,
  // because OpenSSL would have to parse a list of ciphers with the level for each connection.
  SSL_CTX_set_security_level(context, 2);
  return CURLE_OK;
}

static inline CURLcode callgate_easy_set_context(CURL *easy) {
  return curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, callgate_complete_context);
}

// Makes a file in memory. memfd_create(2) is declared here because its header hides it without _GNU_SOURCE.
int memfd_create(const char *name, unsigned flags);
static inline int callgate_memory_file(const char *name) {
  return memfd_create(name, 1 /* MFD_CLOEXEC */);
}

// Allows only one protocol, so that no response can make libcurl use another one.
static inline CURLcode callgate_easy_set_protocol(CURL *easy, int secure) {
#if LIBCURL_VERSION_NUM >= 0x075500
  return curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, secure ? "https" : "http");
#else
  return curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(secure ? CURLPROTO_HTTPS : CURLPROTO_HTTP));
#endif
}

// If libcurl ever resolves a name itself, keeps it from waiting for its resolver thread (7.87 or newer).
static inline CURLcode callgate_easy_set_quick_exit(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075700
  return curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
#else
  (void)easy;
  return CURLE_OK;
#endif
}

// Resumes a transfer whose receiver has returned CURL_WRITEFUNC_PAUSE.
static inline CURLcode callgate_easy_resume(CURL *easy) {
  return curl_easy_pause(easy, CURLPAUSE_CONT);
}

static inline CURLcode callgate_easy_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode callgate_easy_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLMcode callgate_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLSHcode callgate_share_set_data(CURLSH *share, curl_lock_data data) {
  return curl_share_setopt(share, CURLSHOPT_SHARE, data);
}

// The result of a finished transfer: a member of a union, which Swift would have to reinterpret.
static inline CURLcode callgate_message_result(const CURLMsg *message) {
  return message->data.result;
}
