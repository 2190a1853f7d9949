// SPDX-License-Identifier: MIT
package com.example.callgate;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as maps, lists, strings, numbers (Double), booleans and null. */
final class Json {
  private final String text;
  private int at;

  private Json(String text) { this.text = text; }

  /** Parses a JSON object; an empty map for anything else, such as a proxy's page. */
  @SuppressWarnings("unchecked")
  static Map<String, Object> object(String text) {
    try {
      Json json = new Json(text);
      Object value = json.value();
      json.space();
      if (value instanceof Map && json.at == text.length()) return (Map<String, Object>) value;
    } catch (RuntimeException notJson) {
      // The caller notices the missing members.
    }
    return new LinkedHashMap<>();
  }

  /** A value as JSON, without members that are null. */
  static String write(Object value) {
    if (value instanceof Map) {
      StringBuilder members = new StringBuilder();
      for (Map.Entry<?, ?> member : ((Map<?, ?>) value).entrySet()) {
        if (member.getValue() == null) continue;
        members.append(members.length() == 0 ? "" : ",").append(write(member.getKey())).append(':').append(write(member.getValue()));
      }
      return "{" + members + "}";
    }
    if (value instanceof Number) return value.toString();
    StringBuilder out = new StringBuilder("\"");
    for (char character : value.toString().toCharArray()) {
      if (character == '"' || character == '\\') out.append('\\').append(character);
      else if (character < ' ') out.append(String.format("\\u%04x", (int) character));
      else out.append(character);
    }
    return out.append('"').toString();
  }

  private Object value() {
    space();
    char first = text.charAt(at);
    if (first == '{') {
      Map<String, Object> members = new LinkedHashMap<>();
      for (at++; !ends('}'); ) {
        String name = (String) value();
        expect(':');
        members.put(name, value());
      }
      return members;
    }
    if (first == '[') {
      List<Object> elements = new ArrayList<>();
      for (at++; !ends(']'); ) elements.add(value());
      return elements;
    }
    if (first == '"') return string();
    int begin = at;
    while (at < text.length() && ",]} \n\r\t".indexOf(text.charAt(at)) < 0) at++;
    String word = text.substring(begin, at);
    if (word.equals("null")) return null;
    if (word.equals("true") || word.equals("false")) return word.equals("true");
    return Double.valueOf(word);
  }

  private String string() {
    StringBuilder out = new StringBuilder();
    for (at++; text.charAt(at) != '"'; at++) {
      if (text.charAt(at) != '\\') {
        out.append(text.charAt(at));
        continue;
      }
      char escape = text.charAt(++at);
      int known = "bfnrt".indexOf(escape);
      if (escape == 'u') {
        out.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
        at += 4;
      } else {
        out.append(known < 0 ? escape : "\b\f\n\r\t".charAt(known));
      }
    }
    at++;
    return out.toString();
  }

  /** Whether the list or object ends here. Skips the comma before the next element. */
  private boolean ends(char bracket) {
    space();
    char next = text.charAt(at);
    if (next == bracket || next == ',') at++;
    return next == bracket;
  }

  private void expect(char character) {
    space();
    if (text.charAt(at++) != character) throw new IllegalArgumentException();
  }

  private void space() {
    while (at < text.length() && " \n\r\t".indexOf(text.charAt(at)) >= 0) at++;
  }
}
