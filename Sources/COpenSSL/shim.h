#pragma once
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/encoder.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// The format of X.509 names: RFC 2253, on one line, with control characters escaped.
static const unsigned long callgate_name_form = XN_FLAG_RFC2253;

// Sets the options of a TLS server. In C, because the SSL_OP_… macros are casts of shifts, which Swift
// cannot import. The server's order of cipher suites applies, with one exception: a client that puts
// ChaCha20 first, because its processor has no AES instructions, gets ChaCha20.
static inline void callgate_ssl_ctx_restrict(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                   SSL_OP_PRIORITIZE_CHACHA);
}

// Sets the key of an HMAC with SHA-256. In C, because OSSL_PARAM keeps pointers to the names of its
// parameters.
static inline int callgate_hmac_sha256(EVP_MAC_CTX *context, const unsigned char *key, size_t length) {
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)key, length),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_CTX_set_params(context, parameters);
}

// Derives bytes with HKDF and SHA-256 (RFC 5869). In C for the same reason as the function above.
static inline int callgate_hkdf_sha256(EVP_KDF_CTX *context, const void *key, size_t key_length, const void *salt,
                                       size_t salt_length, const void *info, size_t info_length,
                                       unsigned char *result, size_t length) {
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key, key_length),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt, salt_length),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_length),
      OSSL_PARAM_construct_end(),
  };
  return EVP_KDF_derive(context, result, length, parameters);
}
