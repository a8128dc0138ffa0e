mod json;
