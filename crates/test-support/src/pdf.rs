//! PDF files: one with a line of text, and ones that decompress to far more than their size.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// A PDF with one page that shows one line.
pub fn with_line(line: &str) -> Vec<u8> {
    file(line, &[])
}

/// A PDF with a line and object streams, each with an array of zeros of this size.
pub fn with_zeros(line: &str, streams: usize, bytes_each: usize) -> Vec<u8> {
    let mut content = b"100 0 [".to_vec();
    content.extend(b"0 ".repeat(bytes_each / 2));
    content.push(b']');
    let packed = packed(&content);
    let head = format!("/Type /ObjStm /N 1 /First 6 /Filter /FlateDecode /Length {}", packed.len());
    let stream = stream(&head, &packed);
    file(line, &vec![stream; streams])
}

fn file(line: &str, further: &[Vec<u8>]) -> Vec<u8> {
    let line = line.replace('\\', "\\\\").replace('(', "\\(").replace(')', "\\)");
    let content = format!("BT /F1 12 Tf 72 720 Td ({line}) Tj ET");
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R \
          /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_vec(),
        stream(&format!("/Length {}", content.len()), content.as_bytes()),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_vec(),
    ];
    objects.extend_from_slice(further);
    let mut bytes = b"%PDF-1.5\n".to_vec();
    let mut table = String::from("0000000000 65535 f \n");
    for (index, object) in objects.iter().enumerate() {
        table.push_str(&format!("{:010} 00000 n \n", bytes.len()));
        bytes.extend(format!("{} 0 obj\n", index + 1).as_bytes());
        bytes.extend(object);
        bytes.extend(b"\nendobj\n");
    }
    let (start, size) = (bytes.len(), objects.len() + 1);
    let end = format!(
        "xref\n0 {size}\n{table}trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    bytes.extend(end.as_bytes());
    bytes
}

fn stream(head: &str, content: &[u8]) -> Vec<u8> {
    [format!("<< {head} >>\nstream\n").as_bytes(), content, b"\nendstream"].concat()
}

fn packed(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(content);
    encoder.finish().unwrap_or_default()
}
